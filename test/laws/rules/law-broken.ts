/** Something happened that must never happen. */
export class LawBroken extends Error {
  constructor(law: string, what: string) {
    super(`${law}: ${what}`);
  }
}
