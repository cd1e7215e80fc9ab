export function jobSpecification(document: { components: { schemas: object } }): string;
export function commandReference(all: string, helpOf: (command: string) => string): string;
export function write(): void;
