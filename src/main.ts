import 'reflect-metadata';
import { runCommand } from './cli/program.js';

// The only look at the environment of this process.
process.exit(await runCommand(process.argv.slice(2), process.env));
