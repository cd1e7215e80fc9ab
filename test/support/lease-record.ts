/** A change of the lease's holder, as the database saw it. */
export interface LeaseChange {
  holder: string;
  /** Given back before its time was over. */
  isGivenBack: boolean;
}

type Query = (sql: string) => Promise<unknown>;

/** From now on the database notes each change of the lease but its renewals. Answers what reads them. */
export async function recordLease(query: Query): Promise<() => Promise<LeaseChange[]>> {
  await query(`CREATE TABLE lease_change (id bigint GENERATED ALWAYS AS IDENTITY, holder text, is_given_back boolean)`);
  await query(`CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO lease_change (holder, is_given_back) VALUES (new.holder, new.expires_at = '-infinity'); RETURN new; END $$`);
  await query(`CREATE TRIGGER note_lease AFTER UPDATE ON leader_lease FOR EACH ROW
    WHEN (new.epoch <> old.epoch OR new.expires_at = '-infinity') EXECUTE FUNCTION note_lease()`);
  return async () =>
    (await query('SELECT holder, is_given_back AS "isGivenBack" FROM lease_change ORDER BY id')) as LeaseChange[];
}
