-- What wrk sends, and its report as one line of JSON.
-- Arguments: where the key stands (header, body or none), first key, last key, how many keys between them, body bytes,
-- value of Accept, "cycle" (a fixed set of requests) or "flood" (ever new keys).

-- A line break in 75 characters and a quote in 190, as in prose and code.
local PLAIN = 'The quick brown fox jumps over the lazy dog, and then it went on and on.\\n'
local SENTENCE = PLAIN .. PLAIN .. PLAIN .. PLAIN .. 'The quick brown fox jumped: it said \\"hello\\" and went on and on and on.\\n'
local MESSAGE = 1024

local function filler(bytes)
  return string.rep(SENTENCE, math.ceil(bytes / #SENTENCE)):sub(1, bytes):gsub('\\+$', '')
end

local function messages(bytes)
  local parts = {}
  while bytes > 0 do
    parts[#parts + 1] = '{"role":"user","content":"' .. filler(math.min(bytes, MESSAGE)) .. '"}'
    bytes = bytes - MESSAGE
  end
  return '[' .. table.concat(parts, ',') .. ']'
end

local where, accept, bytes, before, after

local function body_before(size)
  return '{"messages":' .. messages(size) .. ',"model":"llama","max_tokens":16'
end

local function request_of(key)
  local headers = { ['Content-Type'] = 'application/json', ['Accept'] = accept }
  local member = ''
  if where == 'header' then
    headers['x-tenant-id'] = key
    headers['x-session-id'] = key -- what vllm-router hashes
  elseif where == 'body' then
    member = ',"user":"' .. key .. '"'
  end
  return wrk.format('POST', '/v1/chat/completions', headers, before .. member .. after)
end

local next_request

local function cycle(first, last, count)
  local requests, at = {}, 0
  for index = 0, count - 1 do
    before = body_before(bytes + index % 509) -- no two prompts of real clients are alike, not even in length
    local number = count == 1 and first or first + math.floor((last - first) * index / (count - 1))
    requests[index + 1] = request_of(string.format('tenant-%07d', number))
  end
  return function()
    at = at % count + 1
    return requests[at]
  end
end

local function flood(first)
  return function()
    first = first + 1
    return request_of(string.format('tenant-%07d', first - 1))
  end
end

function init(args)
  local first, last, count = tonumber(args[2]), tonumber(args[3]), tonumber(args[4])
  where, bytes, accept = args[1], tonumber(args[5]), args[6]
  before = body_before(bytes)
  after = ',"stream":' .. tostring(accept ~= 'application/json') .. '}'
  next_request = args[7] == 'flood' and flood(first) or cycle(first, last, count)
end

function request()
  return next_request()
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '{"requests":%d,"seconds":%.6f,"failed":%d,"p50":%.3f,"p99":%.3f,"p999":%.3f,"slowest":%.3f}\n',
    summary.requests, summary.duration / 1e6,
    errors.connect + errors.read + errors.write + errors.status + errors.timeout,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, latency:percentile(99.9) / 1000, latency.max / 1000))
end
