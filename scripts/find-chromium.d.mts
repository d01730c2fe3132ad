export function findChromium(): Promise<string | undefined>;
export function chromiumArguments(): string[];
