// Every `reason` and `outcome` of the access log has an explanation.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ErrorCode } from '../../../lib/core/errors.ts'
import type { Outcome } from '../../../lib/core/types.ts'
import type { TokenFault } from '../../../lib/enforce/auth/token-verifier.ts'
import { outcomeReason, reasonOf } from '../../../lib/page/parts/refusal-reasons.ts'

const reasons = suite('page/refusal-reasons')

// The compiler reports codes that are missing here.
const CODES = {
  BAD_HEAD: 1,
  BAD_HOST: 1,
  BAD_TARGET: 1,
  BAD_FRAMING: 1,
  BAD_CHUNK: 1,
  METHOD_NOT_ALLOWED: 1,
  HEAD_TIMEOUT: 1,
  BODY_TIMEOUT: 1,
  BODY_TOO_LARGE: 1,
  HEAD_TOO_LARGE: 1,
  LLM_REQUEST: 1,
  LLM_ENCODING: 1,
  MODEL_MISSING: 1,
  MODEL_DENIED: 1,
  ORIGIN_NOT_ALLOWED: 1,
  MODEL_NOT_FOUND: 1,
  METHOD_UNKNOWN: 1,
  VERSION_UNKNOWN: 1,
  LISTENER_NOT_FOUND: 1,
  ROUTE_NOT_FOUND: 1,
  NO_BACKENDS: 1,
  INTERNAL: 1,
  POOL_EXHAUSTED: 1,
  LIMITS_UNAVAILABLE: 1,
  WORKER_UNREACHABLE: 1,
  OUT_OF_DESCRIPTORS: 1,
  OVERLOADED: 1,
  REQUEST_TIMEOUT: 1,
  UPGRADE_FAILED: 1,
  BACKEND_CONNECT: 1,
  CONNECT_TIMEOUT: 1,
  BACKEND_CLOSED: 1,
  BACKEND_INVALID: 1,
  BACKEND_TIMEOUT: 1,
} as const satisfies Record<ErrorCode, 1>

const FAULTS = {
  malformed: 1,
  'too large': 1,
  algorithm: 1,
  'unknown key': 1,
  signature: 1,
  expired: 1,
  'not valid yet': 1,
  issuer: 1,
  audience: 1,
  'missing claim': 1,
} as const satisfies Record<TokenFault, 1>

const OUTCOMES = {
  client_closed: 1,
  client_error: 1,
  backend_reset: 1,
  backend_timeout: 1,
  idle: 1,
  shutdown: 1,
} as const satisfies Record<Exclude<Outcome, 'complete'>, 1>

reasons('has a sentence and advice for every code of an error', () => {
  for (const code of Object.keys(CODES)) {
    const reason = reasonOf(code)
    assert.ok(reason, code)
    assert.match(reason.words, /^[A-Z].*\.$/)
    assert.match(reason.advice, /[.?]$/)
    assert.is(reason.policy, null, code)
  }
})

reasons('names the policy for every token error', () => {
  for (const fault of Object.keys(FAULTS)) {
    const reason = reasonOf(`token_${fault.replaceAll(' ', '_')}`)
    assert.ok(reason, fault)
    assert.match(reason.policy!, /jwtAuth/)
  }
})

reasons('knows what the other policies say', () => {
  const policies = {
    token_missing: 'jwtAuth or mcpAuthentication',
    keys_unavailable: 'jwtAuth or mcpAuthentication',
    api_key_missing: 'apiKey',
    api_key_invalid: 'apiKey',
    password_missing: 'basicAuth',
    password_invalid: 'basicAuth',
    password_checks_busy: 'basicAuth',
    authorization_denied: 'authorization',
    rate_limit: 'rateLimit',
  }
  for (const [code, policy] of Object.entries(policies)) assert.is(reasonOf(code)?.policy, policy)
})

reasons('has a sentence for every way in which an exchange ends badly', () => {
  for (const outcome of Object.keys(OUTCOMES)) assert.ok(outcomeReason(outcome), outcome)
  assert.is(outcomeReason('complete'), null)
})

reasons('takes a strange code for nothing it knows', () => {
  for (const code of ['constructor', '__proto__', '']) {
    assert.is(reasonOf(code), null)
    assert.is(outcomeReason(code), null)
  }
})

reasons.run()
