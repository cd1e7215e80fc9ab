import { spawn } from 'node:child_process';

/** Runs a program to its end, its output shown. Answers the exit code (128 + signal when it was ended by one). */
export function run(program, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: 'inherit', ...options });
    child.on('error', reject);
    child.on('exit', (code, signal) => resolve(code ?? (signal ? 128 : 1)));
  });
}
