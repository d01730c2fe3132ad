/** `list[index]`, negative from the end, for tests that know it is there. @throws if it is not */
export function at<T>(list: { readonly length: number; readonly [index: number]: T }, index: number): T {
  const value = list[index < 0 ? list.length + index : index];
  if (value === undefined) throw new Error(`there is no [${index}] in a list of ${list.length}`);
  return value;
}
