import { Module } from '@nestjs/common';
import { PriorityFreezes } from './priority-freezes.service.js';

/** The priority freeze in force, for every room that starts something. */
@Module({ providers: [PriorityFreezes], exports: [PriorityFreezes] })
export class PriorityStoreModule {}
