import type { User } from '../../../core/authorization/index.js';
import { RecentAnswers } from '../recent-answers.js';
import { UserDirectory } from './user-directory.js';

export interface CacheOptions {
  size: number;
  expireMillis: number;
  now: () => number;
}

/** Keeps what a directory answered for a while, and that it knew nobody, too. Whoever asks meanwhile waits for the same answer. */
export class CachedDirectory extends UserDirectory {
  private readonly kept: RecentAnswers<User | undefined>;
  private readonly asking = new Map<string, Promise<User | undefined>>();

  constructor(
    private readonly directory: UserDirectory,
    private readonly options: CacheOptions,
  ) {
    super();
    this.kept = new RecentAnswers(options.size);
  }

  override async find(name: string): Promise<User | undefined> {
    const known = this.kept.get(name);
    if (known && this.options.now() - known.at < this.options.expireMillis) return known.answer;
    const asked = this.asking.get(name) ?? this.ask(name).finally(() => this.asking.delete(name));
    this.asking.set(name, asked);
    return asked;
  }

  override healthy(): Promise<boolean | undefined> {
    return this.directory.healthy();
  }

  private async ask(name: string): Promise<User | undefined> {
    const answer = await this.directory.find(name);
    this.kept.put(name, answer, this.options.now());
    return answer;
  }
}
