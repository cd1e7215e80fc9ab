/** An option of a program by its long name, and its value; true: the program takes none for it. */
export type Option = readonly [name: string, value: string | number | true];

const longName = /^[A-Za-z0-9][A-Za-z0-9-]+$/;

/**
 * The words of a command line after the program, as every program gets them that takes long options. A value stands in one
 * word with its option, behind an equals sign, also when it is empty: an option without it would take the next word in its
 * place, and what was meant as an operand would be read as options. Operands come after `--` for the same reason.
 */
export function commandLine(options: readonly Option[], operands: readonly string[] = []): string[] {
  const words = options.map(([name, value]) => {
    // A letter has no form in which an empty value can be said.
    if (!longName.test(name)) throw new Error(`'${name}' is not the long name of an option`);
    return value === true ? `--${name}` : `--${name}=${value}`;
  });
  return operands.length > 0 ? [...words, '--', ...operands] : words;
}
