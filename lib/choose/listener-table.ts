// The listeners of one port, told apart by the hostname a client asks for.

import { Hosts } from './hosts.ts'

export class ListenerTable<T extends { readonly hostname: string }> {
  readonly #hosts = new Hosts<T>()

  constructor(listeners: Iterable<T>) {
    for (const listener of listeners) this.#hosts.set(listener.hostname, listener)
  }

  /** By Host, or by the server name of a TLS handshake; '' if the client named none. */
  find(authority: string): T | undefined {
    return this.#hosts.search(authority, undefined, itself)
  }
}

function itself<T>(listener: T): T {
  return listener
}
