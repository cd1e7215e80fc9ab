const suffixes: Readonly<Record<string, number>> = {
  n: 1e-9,
  u: 1e-6,
  m: 1e-3,
  '': 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  E: 1e18,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
  Pi: 2 ** 50,
  Ei: 2 ** 60,
};

/** A quantity of Kubernetes, such as 100m, 1Gi or 1e3; undefined: it is none, or less than nothing. */
export function quantityOf(written: string): number | undefined {
  const [, digits, exponent, suffix = ''] =
    /^\+?(\d+\.?\d*|\.\d+)(?:([eE][+-]?\d+)|([numkMGTPE]|[KMGTPE]i))?$/.exec(written) ?? [];
  if (digits === undefined) return undefined;
  return exponent === undefined ? Number(digits) * suffixes[suffix]! : Number(`${digits}${exponent}`);
}
