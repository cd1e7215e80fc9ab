import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Instance } from '../e2e/support/product.js';
import type { Operations } from './operations.js';

export interface Slave {
  id: string;
  rackId: string;
  hostname?: string;
  attributes?: Record<string, string>;
}

/** The machines of a product whose scheduler runs apart (`command: ['scheduler']`): they come and go as a test wants. */
export class Fleet {
  private agent: Instance | undefined;

  constructor(private readonly operations: Operations) {}

  /** From now on the agent presents these machines and no others. Tasks run on. */
  async present(...slaves: Slave[]): Promise<void> {
    await this.agent?.stop();
    const { installation } = this.operations;
    const file = join(installation.dataDir, 'fleet.json');
    const sized = slaves.map((slave) => ({ hostname: 'localhost', ...slave, cpus: 4, memoryMb: 1024, diskMb: 1024 }));
    writeFileSync(file, JSON.stringify({ cluster: { local: { slaves: sized } } }));
    this.agent = await installation.spawn(['agent'], { MUSTER_CONFIG: file });
  }
}
