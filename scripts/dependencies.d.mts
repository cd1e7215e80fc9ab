export function directDependencies(): { name: string; version: string; isOfProgram: boolean }[];
export function reasons(): Record<string, { why: string; stays?: string }>;
export function pageRows(text?: string): Map<string, { version: string; released: string; why: string }>;
export function write(options?: { isOffline?: boolean }): void;
