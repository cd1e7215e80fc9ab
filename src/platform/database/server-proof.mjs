/*
 * Used by threads as it stands here, too: the build copies it.
 */

/**
 * Lets a connection begin only with a server that proves that it knows the password. Whoever gets the port or the name of a
 * server that is down may ask for the password in plain text (or for a digest that serves as well), and the driver would
 * answer; or may ask for none and pretend to be the database. SCRAM-SHA-256 shows the password to nobody, and the server has to
 * sign. Without a password in the settings there is nothing to learn: then `trust`, `peer` and certificates are the
 * operator's choice. The driver has no option for it (libpq's is `require_auth`), so this listens to the messages of its
 * public `Connection`, before the driver does.
 * @param {import('pg').Client} client not connected yet
 */
export function demandProof(client) {
  const { connection } = client;
  const hasPassword = Boolean(client.password);
  let isProven = false;
  /** @param {string} what */
  const refuse = (what) => {
    // It may have sent more at once, and the driver shall not take the connection for open.
    connection.removeAllListeners('readyForQuery');
    connection.stream.destroy(
      new Error(`The server asks for ${what}, and only SCRAM-SHA-256 is answered: anybody may listen in its place`),
    );
  };
  connection.prependListener('authenticationCleartextPassword', () => refuse('the password in clear text'));
  connection.prependListener('authenticationMD5Password', () => refuse('an MD5 digest of the password'));
  // What the driver could not verify, such as a wrong signature, it tells before the listeners behind it are called.
  const broken = () => connection.stream.destroy();
  connection.on('error', broken);
  connection.on('authenticationSASLFinal', () => (isProven = !connection.stream.destroyed));
  connection.prependListener('authenticationOk', () => {
    connection.removeListener('error', broken);
    if (hasPassword && !isProven) refuse('no password, though one is given (take it out of the URL if that is meant)');
  });
}
