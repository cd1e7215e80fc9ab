import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why a launch was not answered, so that every instance can say it. */
export class UnansweredLaunches1766830000000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task ADD COLUMN unanswered_because text`);
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query(`ALTER TABLE task DROP COLUMN unanswered_because`);
  }
}
