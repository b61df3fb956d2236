// How a server comes to its port: by itself, on a socket that another process had open before, or, in a worker, by asking
// the process that has it.

import type { AddressInfo, Server } from 'node:net'

export interface PortPlace {
  readonly host: string
  readonly port: number
}

/** A file in place of a port. */
export interface PathPlace {
  readonly path: string
}

export interface OpenedPort {
  /** The one the system chose, where 0 was asked for. */
  readonly port: number
  /** No more connections come; those that stand stay. */
  close(): void
}

/** Rejects with the error of `listen`. */
export type OpenPort = (server: Server, place: PortPlace) => Promise<OpenedPort>

/** Connections the kernel holds for us while we are busy. */
export const BACKLOG = 4096

/** Of a unix socket's path. What is longer is cut by the system, and the socket is somewhere else then. */
export const MAX_PATH_BYTES = process.platform === 'linux' ? 107 : 103

export async function openAlone(
  server: Server,
  place: PortPlace | PathPlace | { readonly fd: number },
): Promise<OpenedPort> {
  if ('path' in place && Buffer.byteLength(place.path) > MAX_PATH_BYTES)
    throw new Error(`the path is longer than ${MAX_PATH_BYTES} bytes`)
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ ...place, backlog: BACKLOG }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address() as AddressInfo | string | null
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  return { port, close: () => void server.close() }
}
