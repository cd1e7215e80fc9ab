/** What an operator told this instance about leading, until it is done or taken back. */
export class Orders {
  /** Do not compete. */
  suspended = false;
  /** Let another instance lead before competing again. */
  standAside = false;
  /** Take the lease even from somebody who holds it. */
  byForce = false;

  /** The newest order counts: whoever is to lead neither waits nor stands aside. */
  takeOver(): void {
    this.suspended = false;
    this.standAside = false;
    this.byForce = true;
  }
}
