import { Injectable } from '@nestjs/common';

/**
 * Conditions of readiness beside the database and the pollers: /readyz names those that are missing. Rooms add their
 * own.
 */
@Injectable()
export class Readiness {
  private readonly requirements: (() => Promise<string | undefined>)[] = [];

  /** `missing` answers a sentence for operators; undefined: nothing is. Asked with every look, so it must be cheap. */
  require(missing: () => Promise<string | undefined>): void {
    this.requirements.push(missing);
  }

  async missing(): Promise<string[]> {
    const found = await Promise.all(this.requirements.map((missing) => missing()));
    return found.filter((sentence) => sentence !== undefined);
  }
}
