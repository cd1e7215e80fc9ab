import 'reflect-metadata';
import { runCommand } from './cli/program.js';
import { readEnvironment } from './platform/settings/environment.js';

process.exit(await runCommand(process.argv.slice(2), readEnvironment()));
