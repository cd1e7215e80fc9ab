import { Injectable } from '@nestjs/common';

/**
 * Parts that do not work although this instance serves, as sentences for operators: /readyz names them. Rooms add their
 * own.
 */
@Injectable()
export class Degradations {
  private readonly sources: (() => string[])[] = [];

  add(source: () => string[]): void {
    this.sources.push(source);
  }

  list(): string[] {
    return this.sources.flatMap((source) => source());
  }
}
