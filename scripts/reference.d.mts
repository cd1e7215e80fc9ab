export function jobSpecification(document: { components: { schemas: object } }): string;
export function commandReference(all: string, helpOf: (command: string) => string): string;
export function write(): void;
export function changesOf(): { id: string; call: string; text: string; commandLine: boolean; dashboard: boolean }[];
export function changesPage(): string;
export function chartValues(): string;
