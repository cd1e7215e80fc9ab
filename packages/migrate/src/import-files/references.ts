import type { Members } from './members.js';

/**
 * `$(NAME)` in words and variables of a container, which Kubernetes replaces by the variable of that name, and `$$`, which stands for `$`.
 * Nothing does so here, so it is done at once.
 */
export class References {
  private readonly values = new Map<string, string>();
  private readonly replacedNames = new Set<string>();
  private readonly leftNames = new Set<string>();
  private readonly allNames: ReadonlySet<string>;
  /** The variables with what they stand for: each may name those before it. */
  readonly variables: [name: string, value: string][];

  /** `hasOthers`: there are further variables, whose names the manifest does not say. */
  constructor(
    plain: readonly [name: string, value: string][],
    entries: readonly Members[],
    private readonly hasOthers: boolean,
  ) {
    this.allNames = new Set(entries.map((entry) => entry.text('name') ?? ''));
    this.variables = plain.map(([name, value]) => {
      const replaced = this.replaced(value);
      this.values.set(name, replaced);
      return [name, replaced];
    });
  }

  /** A name that no variable has stays as it is, as there. */
  replaced(written: string): string {
    return written.replaceAll(/\$\$|\$\(([^()]*)\)/g, (whole, name?: string) => {
      if (name === undefined) return '$';
      const value = this.values.get(name);
      if (value !== undefined) this.replacedNames.add(name);
      else if (this.hasOthers || this.allNames.has(name)) this.leftNames.add(name);
      return value ?? whole;
    });
  }

  notes(): string[] {
    return [
      ...[...this.replacedNames].map((name) => `$(${name}) is replaced by the value that ${name} has in the file`),
      ...[...this.leftNames].map((name) => `$(${name}) is not replaced: the file has no value of ${name}`),
    ];
  }
}
