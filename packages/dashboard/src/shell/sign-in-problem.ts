const problems: Readonly<Record<string, string>> = {
  denied: 'The provider did not let you in, or you went back.',
  expired: 'This took longer than ten minutes, or was begun in another browser. Please sign in again.',
  provider: 'The provider does not answer. Please try again in a while.',
  refused: 'The provider did not say who you are as the service needs it. The log of the service says more.',
};

/** Why a provider sent someone back who is not signed in; the address of the page has it. */
export const signInProblem = (word: string | undefined): string | undefined =>
  word === undefined ? undefined : (problems[word] ?? 'Nobody was signed in.');
