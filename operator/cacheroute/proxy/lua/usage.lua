-- Reads the tokens that an engine reports out of its answer, JSON or server-sent events, while it passes.
--
-- Nothing is parsed but the object after "usage": quotes inside JSON strings are escaped, so no text of a client or a
-- model can pose as that member. The last one of an answer counts.

local USAGE = '"usage"'
local MAX_USAGE_BYTES = 8192
local STREAM = 'text/event-stream'
local READABLE = { ['application/json'] = true, [STREAM] = true }

local function kind_of(headers)
  local kind = headers:get('content-type')
  return READABLE[kind] and kind or kind and string.match(string.lower(kind), '^[^; ]*')
end

-- A member that is a whole number, which engines may also write as a text; nil for anything else.
local function tokens(object, member)
  local digits = string.match(object, '"' .. member .. '"%s*:%s*"?(%d+)"?%s*[,}]')
  local number = digits and tonumber(digits)
  return number and number < MAX_TOKENS and number or nil
end

-- Tells the counters what is new in the object. Envoy's objects live until the script waits for the next chunk, so they
-- are asked for each time; one member costs less than two.
local function note(handle, object, seen)
  local prompt = tokens(object, 'prompt_tokens') or tokens(object, 'input_tokens')
  local cached = tokens(object, 'cached_tokens')
  local read = not cached and tokens(object, 'cache_read_input_tokens')
  prompt, cached = prompt and prompt + (read or 0) or seen.prompt, cached or read or seen.cached
  if prompt ~= seen.prompt or cached ~= seen.cached then
    seen.prompt, seen.cached = prompt, cached
    handle:streamInfo():dynamicMetadata():set(NAMESPACE, 'usage', seen)
  end
end

-- What of the text may be the beginning of a usage that the next chunk completes; nil where it cannot be.
local function unfinished(text, start)
  local at = string.find(text, USAGE, start, true)
  if not at then
    local from = math.max(#text - #USAGE + 2, start)
    at = string.find(text, '"[usage]*$', from)
  end
  return at and #text - at < MAX_USAGE_BYTES and string.sub(text, at) or nil
end

-- Notes every complete usage of the text, and returns what the next chunk may complete.
local function scan(handle, text, seen)
  local start = 1
  while true do
    local at = string.find(text, USAGE, start, true)
    if not at then
      return unfinished(text, start)
    end
    local value = string.match(text, '^%s*:%s*(.?)', at + #USAGE)
    if value == '{' then
      local _, last, object = string.find(text, '^%s*:%s*(%b{})', at + #USAGE)
      if not last then
        return unfinished(text, at)
      end
      note(handle, object, seen)
      start = last
    elseif value == '' or not string.find(text, '%S', at + #USAGE) then
      return unfinished(text, at)
    else
      start = at + #USAGE -- a text that is this word, such as the token of a stream
    end
  end
end

-- The counters read the decision off the answer. One that may not show it (only explained ones name their destination)
-- tells them apart from it.
local function hide_decision(handle, headers)
  local decision = headers:get(DECISION_HEADER)
  if decision then
    handle:streamInfo():dynamicMetadata():set(NAMESPACE, 'decision', decision)
    headers:remove(DECISION_HEADER)
  end
end

function envoy_on_response(handle)
  local headers = handle:headers()
  if not headers:get(DESTINATION_HEADER) then
    hide_decision(handle, headers)
  end
  local kind = kind_of(headers)
  if not READABLE[kind] then
    return
  end
  local compressed, unmeasured = headers:get('content-encoding'), kind == STREAM
  local rest, seen = nil, {}
  for chunk in handle:bodyChunks() do
    local length = chunk:length()
    if length > 0 and unmeasured then -- one that broke before has no time to its first byte
      handle:streamInfo():dynamicMetadata():set(NAMESPACE, 'stream', true)
      unmeasured = false
    end
    if compressed then
      return
    elseif length > 0 then
      local text = chunk:getBytes(0, length)
      rest = scan(handle, rest and rest .. text or text, seen)
    end
  end
end

-- What calls Envoy cannot be compiled: LuaJIT would try again and again.
for _, crossing in ipairs({ envoy_on_request, choose, find_key, read, enter, plans_of, envoy_on_response, scan, note }) do
  jit.off(crossing)
end
