// Whether an HTTP/2 session lives. On some faults of its peer, as a frame too large, nghttp2 gives a session up and reads no
// more, and node tells nobody, not even when the peer hangs up: only that nothing leaves any more shows it.

import type { Http2Session } from 'node:http2'
import type { Socket } from 'node:net'
import { unsentBytesOf } from '../core/socket-handle.ts'

/** The peer's word that it has our settings: an empty frame. */
const ACK_BYTES = 9

/** `quiet`: nothing came since it was known to live. `heard`: something did. `asked`: a frame should have left since. */
type LivenessState = 'quiet' | 'heard' | 'asked'

export class Http2Liveness {
  readonly #session: Http2Session
  readonly #socket: Socket
  #state: LivenessState = 'quiet'
  #read = 0

  constructor(session: Http2Session, socket: Socket) {
    this.#session = session
    this.#socket = socket
  }

  /**
   * Asked by every sweep. What came last may have been a fault, so a frame of ours follows it, once and not before there is
   * silence; settings, as there are servers that take pings for an attack.
   */
  isDead(): boolean {
    if (this.#session.destroyed) return false
    if (this.#state === 'asked' && this.#isStuck) return true
    const { bytesRead } = this.#socket
    const isSilent = bytesRead === this.#read
    this.#read = bytesRead
    if (!isSilent) this.#state = 'heard'
    else if (this.#state === 'heard') this.#ask()
    return false
  }

  /** Node ends the session of a peer that lets too many of these pass without a word. */
  #ask(): void {
    this.#state = 'asked'
    this.#session.settings({}, () => this.#lives())
  }

  /** Whatever else is to leave pushes the question out, too, so bytes that left tell nothing: a frame that waits does. */
  get #isStuck(): boolean {
    // Not where the peer takes nothing: that is its right for a while.
    return (this.#session.state.outboundQueueSize ?? 0) > 0 && unsentBytesOf(this.#socket) === 0
  }

  #lives(): void {
    const { bytesRead } = this.#socket
    this.#state = bytesRead - this.#read === ACK_BYTES ? 'quiet' : 'heard'
    this.#read = bytesRead
  }
}
