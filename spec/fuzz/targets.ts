// All fuzz targets.

import { CONFIG } from './config.ts'
import { CONNECTIONS } from './connections.ts'
import { RPC } from './rpc.ts'
import { TEXT } from './text.ts'
import { TOKENS } from './tokens.ts'
import { WIRE } from './wire.ts'

export const TARGETS = [...WIRE, ...TEXT, ...CONFIG, ...TOKENS, ...RPC, ...CONNECTIONS]
