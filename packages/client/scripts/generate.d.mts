export interface Names {
  groups: Readonly<Record<string, readonly [name: string, description: string]>>;
  names: Readonly<Record<string, string>>;
}
export function generate(document: object, folder: string, given?: Names): Promise<void>;
