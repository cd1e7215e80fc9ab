import type { NextFunction, Request, Response } from 'express';

/** Newer clients say "agent" where the paths of this API say "slave". */
const aliases: readonly [RegExp, string][] = [
  [/^\/api\/agents\/agent(?=[/?]|$)/, '/api/slaves/slave'],
  [/^\/api\/agents(?=[/?]|$)/, '/api/slaves'],
  [/^\/api\/usage\/agents(?=[/?]|$)/, '/api/usage/slaves'],
  [/^\/api\/tasks\/active\/agent(?=\/)/, '/api/tasks/active/slave'],
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
