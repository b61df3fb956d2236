// Rate limit messages: compared with fixed bytes, and with protobufjs and the published protos.

import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  decodeRateLimitResponse,
  encodeRateLimitRequest,
  MalformedMessage,
} from '../../../lib/enforce/limit/rate-limit-messages.ts'
import type {
  RateLimitCode,
  RateLimitRequest,
  RateLimitUnit,
} from '../../../lib/enforce/limit/rate-limit-messages.ts'
import { fc } from '../../support/fast-check.ts'
import { SHOULD_RATE_LIMIT } from '../../support/rls/protocol.ts'
import type { CodeName, UnitName, WireHeader } from '../../support/rls/protocol.ts'

const codec = suite('rate limit messages')

function descriptor(key: string, value: string, hits: number | null = null) {
  return { entries: [{ key, value }], limit: null, hits }
}

codec('encode a request field by field', () => {
  const request = { domain: 'd', descriptors: [descriptor('k', 'v')] }
  assert.is(
    encodeRateLimitRequest(request).toString('latin1'),
    '\n\x01d\x12\x08\n\x06\n\x01k\x12\x01v',
  )
})

codec('encode hits of 0 differently from no hits', () => {
  const bytes = (hits: number | null): string =>
    encodeRateLimitRequest({ domain: '', descriptors: [descriptor('k', '', hits)] }).toString('hex')
  assert.is(bytes(null), '1205' + '0a030a016b')
  assert.is(bytes(0), '1207' + '0a030a016b' + '1a00')
  assert.is(bytes(300), '120a' + '0a030a016b' + '1a0308ac02')
})

codec('decode the known fields of a response and skip the rest', () => {
  const bytes = Buffer.concat([
    Buffer.from('0801', 'hex'),
    // Unknown fields: a varint, eight bytes, a text and four bytes.
    Buffer.from('f807ffffffffffffffffff01f9070102030405060708fa0702ffeefd0701020304', 'hex'),
    Buffer.from('12100801' + '12040805' + '1002' + '1803' + '2204083c1001', 'hex'),
    Buffer.from('2a026e6f', 'hex'),
  ])
  assert.equal(decodeRateLimitResponse(bytes), {
    code: 'ok',
    statuses: [{ code: 'ok', limit: 5, remaining: 3, reset: 61 }],
    responseHeaders: [],
    requestHeaders: [],
    body: Buffer.from('no'),
  })
})

codec('decode an empty message to defaults', () => {
  const { code, statuses, body } = decodeRateLimitResponse(Buffer.alloc(0))
  assert.equal([code, statuses, body.length], ['unknown', [], 0])
})

codec('decode an unknown code as unknown', () => {
  assert.is(decodeRateLimitResponse(Buffer.from('0807', 'hex')).code, 'unknown')
  // -1, as a negative enum value is encoded.
  assert.is(decodeRateLimitResponse(Buffer.from('08ffffffffffffffffff01', 'hex')).code, 'unknown')
})

const MALFORMED = {
  'a truncated number': '08ff',
  'a number of more than ten bytes': '08' + 'ff'.repeat(10) + '01',
  'no number after its tag': '08',
  'a length beyond the end': '1205',
  'a length of 64 bits': '12ffffffffffffff7f',
  'a field 0': '0001',
  'a group': '0b',
  'a type that does not exist': '0e',
  'a code that is a text': '0a0101',
  'a status that is a number': '1001',
  'a truncated status': '120208',
  'a header name that is not UTF-8': '1a030a01ff',
  'three bytes of a fixed32': 'fd07010203',
}

codec('are refused when they are malformed', () => {
  for (const [what, hex] of Object.entries(MALFORMED))
    assert.throws(
      () => decodeRateLimitResponse(Buffer.from(hex, 'hex')),
      (error: unknown) => error instanceof MalformedMessage,
      what,
    )
})

codec('either decode or throw MalformedMessage, for any bytes', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      try {
        decodeRateLimitResponse(Buffer.from(bytes))
      } catch (error) {
        assert.instance(error, MalformedMessage)
      }
    }),
    { numRuns: 2_000 },
  )
})

const UNITS: readonly RateLimitUnit[] = ['second', 'minute', 'hour', 'day', 'month', 'year']
const text = fc.string({ unit: 'binary', maxLength: 40 })
const uint32 = fc.nat({ max: 2 ** 32 - 1 })

const requests: fc.Arbitrary<RateLimitRequest> = fc.record({
  domain: text,
  descriptors: fc.array(
    fc.record({
      entries: fc.array(fc.record({ key: text, value: text }), { maxLength: 4 }),
      limit: fc.option(fc.record({ amount: uint32, unit: fc.constantFrom(...UNITS) })),
      hits: fc.option(fc.maxSafeNat()),
    }),
    { maxLength: 4 },
  ),
})

codec('are decoded correctly by protobufjs', () => {
  fc.assert(
    fc.property(requests, (request) => {
      const read = SHOULD_RATE_LIMIT.requestDeserialize(encodeRateLimitRequest(request))
      assert.equal(read, {
        domain: request.domain,
        descriptors: request.descriptors.map(({ entries, limit, hits }) => ({
          entries: entries.map(({ key, value }) => ({ key, value })),
          limit:
            limit === null
              ? null
              : { requests_per_unit: limit.amount, unit: limit.unit.toUpperCase() },
          hits_addend: hits === null ? null : { value: String(hits) },
        })),
        hits_addend: 0,
      })
    }),
    { numRuns: 500 },
  )
})

const CODES: Record<CodeName, RateLimitCode> = { UNKNOWN: 'unknown', OK: 'ok', OVER_LIMIT: 'over' }
const codeName = fc.constantFrom<CodeName>('UNKNOWN', 'OK', 'OVER_LIMIT')
const bytes = fc.uint8Array({ maxLength: 40 }).map((list) => Buffer.from(list))
const wireHeader = fc.oneof(
  fc.record({ key: text, value: text }),
  fc.record({ key: text, raw_value: bytes }),
)
const headers = fc.array(wireHeader, { maxLength: 4 })
const quota = fc.record({ requests: uint32, valid_until: fc.record({ seconds: uint32 }) })

const answers = fc.record({
  overall_code: codeName,
  statuses: fc.array(
    fc.record({
      code: codeName,
      current_limit: fc.option(
        fc.record({
          requests_per_unit: uint32,
          unit: fc.constantFrom<UnitName>('UNKNOWN', 'SECOND', 'YEAR'),
          name: text,
        }),
      ),
      limit_remaining: uint32,
      duration_until_reset: fc.option(
        fc.record({ seconds: uint32, nanos: fc.nat({ max: 999_999_999 }) }),
      ),
      quota,
    }),
    { maxLength: 4 },
  ),
  response_headers_to_add: headers,
  request_headers_to_add: headers,
  raw_body: bytes,
  dynamic_metadata: fc.constant({ fields: { a: { stringValue: 'b' } } }),
  quota,
})

function headersOf(list: readonly WireHeader[]): [string, string][] {
  return list.map(({ key, value = '', raw_value }) => [
    key,
    (value === '' && raw_value !== undefined ? raw_value : Buffer.from(value)).toString('latin1'),
  ])
}

codec('decode what protobufjs encodes', () => {
  fc.assert(
    fc.property(answers, (answer) => {
      const read = decodeRateLimitResponse(SHOULD_RATE_LIMIT.responseSerialize(answer))
      assert.equal(read, {
        code: CODES[answer.overall_code],
        statuses: answer.statuses.map((status) => {
          const { current_limit: limit, duration_until_reset: reset } = status
          return {
            code: CODES[status.code],
            limit: limit?.requests_per_unit ?? null,
            remaining: status.limit_remaining,
            reset: reset ? Number(reset.seconds) + (reset.nanos > 0 ? 1 : 0) : null,
          }
        }),
        responseHeaders: headersOf(answer.response_headers_to_add),
        requestHeaders: headersOf(answer.request_headers_to_add),
        body: answer.raw_body,
      })
    }),
    { numRuns: 500 },
  )
})

codec.run()
