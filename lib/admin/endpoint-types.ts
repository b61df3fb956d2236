// Types for the endpoints of an admin server.

import type { IncomingMessage, ServerResponse } from 'node:http'

export type EndpointHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => void | Promise<void>

/** By path, then by method. */
export type EndpointTable = Readonly<Record<string, Readonly<Record<string, EndpointHandler>>>>

/** Called for every path without an endpoint; returns false if it does not handle the request. */
export type FallbackHandler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => boolean
