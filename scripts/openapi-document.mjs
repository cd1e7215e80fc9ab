// Writes the OpenAPI document that the built program serves, as its settings are unless given: node scripts/openapi-document.mjs
// <folder of the build> <file>. Nest only looks at the modules (its preview mode): nothing is made, and no database is needed.
import 'reflect-metadata';
import { writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { NestFactory } from '@nestjs/core';

const [folder, file] = process.argv.slice(2);
const built = (path) => import(pathToFileURL(resolve(folder, 'src', path)).href);
const { AppModule } = await built('app.module.js');
const { describeApi } = await built('platform/http/docs.js');
const { loadSettings } = await built('platform/settings/load-settings.js');

const settings = { ...loadSettings({ environment: {} }), databaseUrl: '' };
const app = await NestFactory.create(AppModule.forRoot({ settings, driver: {} }), { preview: true, logger: false });
writeFileSync(file, `${JSON.stringify(describeApi(app, settings), null, 2)}\n`);
