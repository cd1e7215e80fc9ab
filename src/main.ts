import { exitWhenWritten } from './cli/output/streams.js';
import { runCommand } from './cli/program.js';

// The only look at the environment of this process.
void runCommand(process.argv.slice(2), process.env).then(exitWhenWritten);
