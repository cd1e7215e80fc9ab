export interface TestRun {
  code: number;
  results: { testResults: TestFile[] } | undefined;
}
export interface TestFile {
  name: string;
  status: string;
  assertionResults: { fullName: string; status: string }[];
}
export function outcomeOf(
  run: TestRun,
  again: TestRun | undefined,
  root: string,
): { passed: number; failed: string[]; recovered: string[] };
