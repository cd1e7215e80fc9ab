import type { Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { configureHttp, httpOptions } from '../../src/platform/http/configure-http.js';
import { HttpAdapter } from '../../src/platform/http/http-adapter.js';
import { SettingsFile, type Settings } from '../../src/platform/settings/settings.js';

/** Controllers of a test behind everything that is the same for all operations, listening. `settings`: as in the settings file; `more`: those from elsewhere. */
export async function startHttpApp(
  module: Type,
  settings: Record<string, unknown> = {},
  more: Partial<Pick<Settings, 'host' | 'advertisedUrl' | 'ui'>> = {},
): Promise<NestExpressApplication> {
  const all = { ...SettingsFile.parse(settings), ...more };
  const app = await NestFactory.create<NestExpressApplication>(module, new HttpAdapter(all.http), {
    ...httpOptions,
    logger: false,
  });
  configureHttp(app, all);
  await app.listen(0, '127.0.0.1');
  return app;
}
