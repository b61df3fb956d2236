// What a small HTTP server beside the traffic answers.

import type { IncomingMessage, ServerResponse } from 'node:http'

export type Handler = (
  request: IncomingMessage,
  response: ServerResponse,
  url: URL,
) => void | Promise<void>

/** By path, then by method. */
export type Endpoints = Readonly<Record<string, Readonly<Record<string, Handler>>>>

/** Asked about every path that no endpoint has; false for one that is not its own either. */
export type Fallback = (request: IncomingMessage, response: ServerResponse, url: URL) => boolean
