import type { NextFunction, Request, Response } from 'express';

/** Newer clients say "agent" where the paths and parameters of this API say "slave", and call the blacklist otherwise. */
const aliases: readonly [RegExp, string][] = [
  [/^\/api\/agents\/agent(?=[/?]|$)/, '/api/slaves/slave'],
  [/^\/api\/agents(?=[/?]|$)/, '/api/slaves'],
  [/^\/api\/usage\/agents(?=[/?]|$)/, '/api/usage/slaves'],
  [/^\/api\/tasks\/active\/agent(?=\/)/, '/api/tasks/active/slave'],
  [/^(\/api\/tasks\/(?:download|open)\/?\?(?:.*&)?)agentHostname(?==)/, '$1slaveHostname'],
  [
    /^\/api\/disasters\/disabled-actions\/(ACTIVATE|DECOMMISSION|FREEZE)_AGENT(?=[/?]|$)/i,
    '/api/disasters/disabled-actions/$1_SLAVE',
  ],
  [/^\/api\/disasters\/disabled-actions\/VIEW_AGENTS(?=[/?]|$)/i, '/api/disasters/disabled-actions/VIEW_SLAVES'],
  [/^\/api\/disasters\/active\/LOST_AGENTS(?=[/?]|$)/i, '/api/disasters/active/LOST_SLAVES'],
  [/^\/api\/notifications\/allowlist(?=[/?]|$)/, '/api/notifications/blacklist'],
];

export function resolveAlias(url: string): string {
  const alias = aliases.find(([pattern]) => pattern.test(url));
  return alias ? url.replace(alias[0], alias[1]) : url;
}

/** Serves the older and newer names of a path by one route. */
export function followPathAliases(request: Request, _response: Response, next: NextFunction): void {
  request.url = resolveAlias(request.url);
  next();
}
