// What a small HTTP server beside the traffic answers.

import type { IncomingMessage, ServerResponse } from 'node:http'

export type EndpointHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => void | Promise<void>

/** By path, then by method. */
export type EndpointTable = Readonly<Record<string, Readonly<Record<string, EndpointHandler>>>>

/** Asked about every path that no endpoint has; false for one that is not its own either. */
export type FallbackHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => boolean
