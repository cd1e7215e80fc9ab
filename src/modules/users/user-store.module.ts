import { Module } from '@nestjs/common';
import { UserSettingsStore } from './user-settings-store.service.js';

/** What users have chosen, for every room that goes by it. */
@Module({ providers: [UserSettingsStore], exports: [UserSettingsStore] })
export class UserStoreModule {}
