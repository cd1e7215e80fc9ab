import type { INestApplication } from '@nestjs/common';
import type { Express } from 'express';

interface Layer {
  route?: { methods: Record<string, boolean> };
  match(path: string): boolean;
}

/** Answers which methods a path knows, for 405 and OPTIONS. Empty: no such path. Asked only when no route took a call. */
export function routesOf(app: INestApplication): (path: string) => string[] {
  const express = app.getHttpAdapter().getInstance() as Express;
  return (path) => {
    const methods = new Set<string>();
    for (const layer of express.router.stack as unknown as Layer[]) {
      if (!layer.route || !matches(layer, path)) continue;
      for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
    }
    if (methods.has('GET')) methods.add('HEAD');
    if (methods.size > 0) methods.add('OPTIONS');
    methods.delete('_ALL');
    return [...methods].sort();
  };
}

function matches(layer: Layer, path: string): boolean {
  try {
    return layer.match(path);
  } catch {
    return false; // a malformed percent sign: such a path names nothing
  }
}
