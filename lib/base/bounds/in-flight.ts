// Bytes that the process holds for requests, one count for all of it as there is one memory. Only who really holds some
// touches it: what the kernel takes at once, and what is passed on in the tick in which it came, is not counted.

class InFlight {
  /** Written, and not taken by the peer. */
  unsent = 0
  /** Read, and not taken by anybody. */
  unread = 0
  /** Of messages: until they are whole, for another try, or for a client that comes back. */
  kept = 0

  get bytes(): number {
    return this.unsent + this.unread + this.kept
  }
}

export const inFlight = new InFlight()
