import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Another scheduler on the machine of an instance finds the agent of both by the folder that the instance names. */
export class DataDirOfInstances1766361600000 implements MigrationInterface {
  async up(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE instance ADD COLUMN data_dir text');
  }
  async down(q: QueryRunner): Promise<void> {
    await q.query('ALTER TABLE instance DROP COLUMN data_dir');
  }
}
