import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { takePidFile } from '../../../src/platform/process/pid-file.js';

/** Takes the file given as soon as it may, says who holds it, and stays, to be killed. */
const path = process.argv[2]!;
console.log('ready');
while (!existsSync(`${path}.go`)) await delay(1);
console.log(`holder ${takePidFile(path) ?? 'none'}`);
setInterval(() => undefined, 1_000);
