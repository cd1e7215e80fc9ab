/** Parameters that the server applies to a connection. Milliseconds; seconds for keepalives. */
export type ServerParameters = Record<string, number>;

/** A leader that freezes, or whose machine vanishes, keeps no lock longer than these. */
export const leaderParameters: ServerParameters = {
  idle_in_transaction_session_timeout: 2_000,
  statement_timeout: 10_000,
  tcp_user_timeout: 4_000,
  tcp_keepalives_idle: 1,
  tcp_keepalives_interval: 1,
  tcp_keepalives_count: 3,
};

/**
 * An instance that freezes, leader or not, may do so in the middle of a transaction of its API. What that holds (the row
 * of a request, for instance) is what the next leader needs, so it must be free by the time the lease is.
 */
export const apiParameters: ServerParameters = {
  idle_in_transaction_session_timeout: 3_000,
  statement_timeout: 60_000,
};

/** The parameters travel in the URL, because the driver lets a URL's own `options` replace all others. */
export function withParameters(url: string, parameters: ServerParameters): string {
  const parsed = new URL(url);
  const ours = Object.entries(parameters).map(([name, value]) => `-c ${name}=${value}`);
  parsed.searchParams.set('options', [parsed.searchParams.get('options') ?? '', ...ours].join(' ').trim());
  return parsed.toString();
}
