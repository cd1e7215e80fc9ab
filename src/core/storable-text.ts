/** Characters that PostgreSQL stores neither as text nor as JSON: the character NUL and halves of surrogate pairs. */
const unstorable = /\0|\p{Surrogate}/u;
const allUnstorable = new RegExp(unstorable, 'gu');

export const isStorable = (text: string): boolean => !unstorable.test(text);

/** The text, or its beginning of at most so many characters, with the sign for an unknown character in the place of what cannot be stored. */
export const storableText = (text: string, most = Infinity): string =>
  text.slice(0, most).replaceAll(allUnstorable, '\u{fffd}');
