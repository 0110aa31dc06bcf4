-- Wireshark's view of what front-end and servers say to each other when connections are handed
-- over: the envelope between UDP and the client's packet (docs/handoff.md, bpf/handoff.h).
--
--     tshark -X lua_script:docs/tools/handoff.lua -r capture.pcap -Y baton
--     wireshark -X lua_script:docs/tools/handoff.lua capture.pcap
--
-- For always, copy it to the folder of personal Lua plugins (Help, About, Folders). Another UDP port
-- is set in the preferences of BATON, or by -o baton.port:7118.
--
-- The seal is shown and not checked: for that the site's key would have to be here.

local PORT = 7117
local MAGIC = 0xba71
local VERSION = 1

-- enum kind
local KINDS = {
    [0] = "PLAIN",
    [1] = "HANDOFF",
    [2] = "QUERY",
    [3] = "RELEASED",
    [4] = "TAGGED",
}

-- Where each field lies: offset and length in bytes, as struct envelope has them.
local LAYOUT = {
    magic = { 0, 2 },
    version = { 2, 1 },
    kind = { 3, 1 },
    seq = { 4, 4 },
    connection = { 8, 4 },
    mss = { 12, 2 },
    wscale = { 14, 1 },
    flags = { 15, 1 },
    server = { 16, 4 },
    mac = { 20, 8 },
}
local BYTES = 28

local baton = Proto("baton", "Baton one-way delivery")

baton.prefs.port = Pref.uint("UDP port", PORT, "Where front-ends and servers hear each other")

local fields = {
    magic = ProtoField.uint16("baton.magic", "Magic", base.HEX),
    version = ProtoField.uint8("baton.version", "Version"),
    kind = ProtoField.uint8("baton.kind", "Kind", base.DEC, KINDS),
    seq = ProtoField.uint32("baton.seq", "For the segment with sequence number"),
    connection = ProtoField.uint32("baton.connection", "First of the client's stream"),
    mss = ProtoField.uint16("baton.mss", "Client's MSS"),
    wscale = ProtoField.uint8("baton.wscale", "Client's window scale"),
    flags = ProtoField.uint8("baton.flags", "Flags", base.HEX),
    server = ProtoField.uint32("baton.server", "Server (hash of its name)", base.HEX),
    mac = ProtoField.uint64("baton.mac", "Seal", base.HEX),
}
-- OPT_SACK, OPT_TRACK, OPT_AGENT
local flags = {
    ProtoField.bool("baton.flags.sack", "The client takes SACK", 8, nil, 0x01),
    ProtoField.bool("baton.flags.track", "It may move: follow its messages", 8, nil, 0x02),
    ProtoField.bool("baton.flags.agent", "For the agent's relay", 8, nil, 0x04),
}
local marked = ProtoField.bool("baton.marked", "This is the segment it is for")
local offset = ProtoField.uint32("baton.offset", "Bytes into the client's stream")

baton.fields = {
    fields.magic, fields.version, fields.kind, fields.seq, fields.connection, fields.mss,
    fields.wscale, fields.flags, flags[1], flags[2], flags[3], fields.server, fields.mac, marked,
    offset,
}

local malformed = ProtoExpert.new("baton.malformed", "No envelope of this version",
    expert.group.MALFORMED, expert.severity.ERROR)
local unknown = ProtoExpert.new("baton.kind.unknown", "Unknown kind",
    expert.group.PROTOCOL, expert.severity.WARN)
local late = ProtoExpert.new("baton.late", "Another part of a segment that was cut up on its way",
    expert.group.SEQUENCE, expert.severity.NOTE)
baton.experts = { malformed, unknown, late }

-- TCP's sequence number in the client's packet; nil if it is no TCP, or too short to say.
local function sequence_of(packet)
    if packet:len() < 1 then return nil end
    local family = packet(0, 1):bitfield(0, 4)
    local header, protocol
    if family == 4 and packet:len() >= 20 then
        header, protocol = packet(0, 1):bitfield(4, 4) * 4, packet(9, 1):uint()
    elseif family == 6 and packet:len() >= 40 then
        header, protocol = 40, packet(6, 1):uint()
    end
    if protocol ~= 6 or packet:len() < header + 8 then return nil end
    return packet(header + 4, 4):uint()
end

-- The client's packet, by whoever knows it.
local function inner(packet, pinfo, tree)
    if packet:len() < 1 then return end
    local family = packet(0, 1):bitfield(0, 4)
    local by = family == 4 and "ip" or family == 6 and "ipv6" or "data"
    Dissector.get(by):call(packet:tvb(), pinfo, tree)
end

-- Adds the fields; true if the segment behind is the one that the envelope is for.
local function envelope(buffer, tree)
    local function at(name)
        return buffer(LAYOUT[name][1], LAYOUT[name][2])
    end
    for _, name in ipairs({ "magic", "version" }) do
        tree:add(fields[name], at(name))
    end
    local kind = tree:add(fields.kind, at("kind"))
    if not KINDS[at("kind"):uint()] then kind:add_proto_expert_info(unknown) end
    for _, name in ipairs({ "seq", "connection", "mss" }) do
        tree:add(fields[name], at(name))
    end
    local wscale = tree:add(fields.wscale, at("wscale"))
    if at("wscale"):uint() == 15 then wscale:append_text(" (no scaling)") end
    local bits = tree:add(fields.flags, at("flags"))
    for _, flag in ipairs(flags) do
        bits:add(flag, at("flags"))
    end
    tree:add(fields.server, at("server"))
    tree:add(fields.mac, at("mac"))
    local seq = sequence_of(buffer(BYTES))
    if not seq then return end
    local is_marked = seq == at("seq"):uint()
    tree:add(marked, is_marked):set_generated()
    tree:add(offset, (seq - at("connection"):uint()) % 4294967296):set_generated()
    if not is_marked then tree:add_proto_expert_info(late) end
end

function baton.dissector(buffer, pinfo, root)
    if buffer:len() <= BYTES then return 0 end
    local tree = root:add(baton, buffer(0, BYTES))
    local magic, version = buffer(0, 2):uint(), buffer(2, 1):uint()
    if magic ~= MAGIC or version ~= VERSION then
        tree:add_proto_expert_info(malformed)
        return 0
    end
    envelope(buffer, tree)
    local kind = KINDS[buffer(3, 1):uint()] or "kind " .. buffer(3, 1):uint()
    tree:append_text(", " .. kind)
    local between = tostring(pinfo.src) .. " > " .. tostring(pinfo.dst)
    inner(buffer(BYTES), pinfo, root)
    -- What the client's packet says stays in the columns; who sends whom what comes before it.
    pinfo.cols.protocol:set("BATON")
    pinfo.cols.info:prepend(kind .. " " .. between .. ": ")
    return buffer:len()
end

local ports = DissectorTable.get("udp.port")
local heard = PORT
ports:add(heard, baton)

function baton.prefs_changed()
    ports:remove(heard, baton)
    heard = baton.prefs.port
    ports:add(heard, baton)
end
