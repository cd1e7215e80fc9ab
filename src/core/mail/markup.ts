/** Text that is markup already. */
export class Markup {
  constructor(readonly text: string) {}
  toString(): string {
    return this.text;
  }
}

type Value = string | number | Markup | readonly Markup[];

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (sign) => entities[sign]!);

/** Markup as it stands, with values in it. What is no markup itself cannot become any: it is escaped, in attributes too. */
export function html(pieces: TemplateStringsArray, ...values: readonly Value[]): Markup {
  const texts = values.map((value) => {
    if (value instanceof Markup) return value.text;
    if (typeof value === 'object') return value.map(({ text }) => text).join('');
    return escaped(String(value));
  });
  return new Markup(String.raw({ raw: pieces }, ...texts));
}
