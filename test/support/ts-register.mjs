import { register } from 'node:module';

register('./ts-hooks.mjs', import.meta.url, { data: { built: new URL(import.meta.url).searchParams.has('built') } });
