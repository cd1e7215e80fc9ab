import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A short path of the caller's own. As root, PostgreSQL runs as another user, who has to pass through. */
export function tempFolder(parent = tmpdir()): { path: string; remove(): void } {
  const path = mkdtempSync(join(parent, 'muster-test-'));
  chmodSync(path, 0o711);
  return { path, remove: () => removeFolder(path) };
}

export function removeFolder(path: string): void {
  try {
    rmSync(path, { recursive: true, force: true });
  } catch {
    // For whoever is not root: directories that a task closed, and paths that are too long for one call.
    execFileSync('chmod', ['-R', 'u+rwx', '--', path]);
    execFileSync('rm', ['-rf', '--', path]);
  }
}
