// lib/rows: several sequences in one dispatch (with ROWS), each with a row in every buffer of its own; z of the grid says
// whose work it is. #rows says in each file which buffers those are.

/// Set first of all by main. What must be uniform in the language's eyes takes workgroup.z itself.
var<private> row: u32;
