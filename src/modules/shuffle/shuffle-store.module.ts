import { Module } from '@nestjs/common';
import { ShuffleBlacklist } from './shuffle-blacklist.service.js';

/** Which requests are not to be shuffled, for every room that moves tasks. */
@Module({ providers: [ShuffleBlacklist], exports: [ShuffleBlacklist] })
export class ShuffleStoreModule {}
